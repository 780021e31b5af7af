Feature: A holder whose wallet keeps her secret agrees to proofs
  The service has the credential and the delegation, and proves nothing about Hana until her wallet has agreed: to one request, or in
  advance to a question that Aki's key hands over.

  Background:
    Given Hana's credential is bound to the secret in her wallet

  @422:PREDICATE_UNSUPPORTED
  Scenario: Without her consent there is no proof
    When Aki asks for a proof of hers
    Then the answer is 422 PREDICATE_UNSUPPORTED

  Scenario: She agrees to one request
    Given she agrees to the request that Aki will send
    When Aki asks for a proof of hers
    Then Vera, who expects a consent to her challenge, accepts it

  @422:PREDICATE_UNSUPPORTED
  Scenario: What she agreed to serves no other question
    Given she agrees to the request that Aki will send
    When Aki asks for a proof that she is 21 in its place
    Then the answer is 422 PREDICATE_UNSUPPORTED

  Scenario: She agrees in advance, and Aki hands the proof over
    Given she agrees in advance to what Aki's key hands over
    When Aki asks for a proof of hers
    And Aki signs it for Vera
    Then Vera, who expects a consent to Aki's key, accepts it

  Scenario: A proof that its agent has not signed is not taken, and the answer says what is missing
    Given she agrees in advance to what Aki's key hands over
    When Aki asks for a proof of hers
    And Vera has the stored proof verified
    Then it is refused with AGENT_SIGNATURE_MISSING by proof
