"""What a person types: the server and the command line client."""
