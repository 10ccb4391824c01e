"""`conformance bench`: kernels on real layers, what padding M costs, and the engines of the bit model, in one run."""
