"""What is done with IBCTs that are not presented: one verb a file."""
