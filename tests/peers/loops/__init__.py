"""Known loops as programs under attack, each written as its documentation shows; run in environments of their own."""
