"""Naming what a wrong or unexplained result is: single faults and other arithmetics, by computing what each gives."""
