"""Plain data shared by every layer: jobs, identifiers, messages, settings, limits, errors."""
