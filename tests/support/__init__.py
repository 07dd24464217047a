"""What tests of real server processes share: starting one, and speaking to it in raw bytes."""
