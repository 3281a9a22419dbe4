"""The oracle: a naive second engine, written from the specification alone, that the real engine is compared with."""
