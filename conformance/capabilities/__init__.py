"""What a backend declares that it has and has not: the table, the declaration, what it excludes, and asking once."""
