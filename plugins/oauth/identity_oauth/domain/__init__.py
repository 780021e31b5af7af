"""Access tokens, authorization codes and assertions of clients: what they contain, and the rules by which they are read."""
