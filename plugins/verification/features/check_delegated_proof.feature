@checkDelegatedProof
Feature: Ask what a delegated proof would be refused for
  An agent learns before it uses a token whether it would be of use, and nothing about Hana.

  Scenario: A request that nothing stops, and its token afterwards
    Given Hana lets Aki prove things about her
    When Aki asks what a proof would be refused for
    Then the answer is 200
    And the answer must not be cached
    And nothing would refuse it, and the delegation is active
    And the proof is made with the same token

  Scenario Outline: What would be refused is told
    Given Hana lets Aki prove things about her
    When Aki asks what a proof with <flaw> would be refused for
    Then the answer is 200
    And it would be refused with <code>

    Examples:
      | flaw                           | code                  |
      | a token for another agent      | IBCT_INVALID          |
      | a token that a stranger signed | IBCT_INVALID          |
      | a token of yesterday           | IBCT_EXPIRED          |
      | an unknown delegation          | DELEGATION_INVALID    |
      | an action of another attribute | SCOPE_MISMATCH        |
      | an unknown credential          | CREDENTIAL_NOT_FOUND  |
      | an attribute that is not there | PREDICATE_UNSUPPORTED |

  Scenario: Whether the predicate holds is not told
    Given Hana lets Aki prove things about her
    When Aki asks what a proof that she is 90 would be refused for
    Then the answer is 200
    And nothing would refuse it, and the delegation is active

  Scenario: A token that was used
    Given Hana lets Aki prove things about her
    When Aki has a proof made and asks what the same request would be refused for
    Then the answer is 200
    And it would be refused with IBCT_REPLAYED

  @403:FORBIDDEN
  Scenario: A client cannot ask for another agent
    Given Hana lets Aki prove things about her
    When Eve asks what a proof of Aki would be refused for
    Then the answer is 403 FORBIDDEN

  @400:INVALID_DID
  Scenario: A holder that is not a DID
    Given Hana lets Aki prove things about her
    When Aki asks what a proof with a holder that is not a DID would be refused for
    Then the answer is 400 INVALID_DID
