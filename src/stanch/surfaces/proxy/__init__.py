"""The model proxy: the addresses of model providers, answered by whichever provider a request is routed to."""
