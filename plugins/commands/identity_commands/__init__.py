"""Commands that call a service, and commands that check without one what a service answered."""
