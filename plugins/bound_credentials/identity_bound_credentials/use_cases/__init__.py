"""What the operations and jobs of suite 2 do."""
