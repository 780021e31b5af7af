"""Extensions: operations of the document that come with a distribution of their own."""
