"""The SQL store: what is kept between calls, in SQLite or PostgreSQL."""
