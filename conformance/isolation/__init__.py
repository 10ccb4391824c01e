"""Cases in processes of their own: what hangs, dies or poisons its process costs one case and is named."""
