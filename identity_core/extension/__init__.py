"""Extensions: operations of the document that a separate distribution provides."""
