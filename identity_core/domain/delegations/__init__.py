"""What a holder lets an agent do: delegations, their chains, actions, and the tokens that carry them."""
