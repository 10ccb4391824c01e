"""What a report lets its reader say of each kernel in it: claims with their evidence, or what is missing for that."""
