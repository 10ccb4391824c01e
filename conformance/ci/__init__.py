"""What services that run a job can show: JUnit XML, annotations, a summary. Made from a report; needs no torch."""
