"""What can be judged beside kernels: quantisers and linears, as one more kind of subject in the same flow."""
