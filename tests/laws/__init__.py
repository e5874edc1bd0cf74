"""Tests of the laws, and of the search that checks them."""
