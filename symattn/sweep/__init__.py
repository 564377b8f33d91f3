"""Phase diagrams: fixed points over a grid of two parameters, in a file that loses nothing."""
