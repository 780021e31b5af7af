@generateDelegatedProof
Feature: Aki has something proved about Hana
  Ivo issued Hana a credential, Hana delegated to Aki and signs a token for each use. Aki gets proofs, and nothing else.

  Scenario: An agent has an age proved
    Given Hana lets Aki prove things about her
    When Aki asks whether she is 18
    Then the answer is 201
    And the answer must not be cached
    And the answer holds a proof of it that anybody can verify

  Scenario: An agent has an age proved with a credential that is bound to its holder
    Given Hana's credential is bound to her
    When Aki asks whether she is 18
    Then the answer is 201
    And the answer holds a proof of it that anybody can verify
    And it says itself that she agreed, and that the credential is valid and not revoked

  Scenario: The same request gives the same proof of a bound credential
    Given Hana's credential is bound to her
    When Aki asks the same twice
    Then both answers are the same proof

  @422:PREDICATE_NOT_SATISFIED
  Scenario: What does not hold of a bound credential is refused
    Given Hana's credential is bound to her
    When Aki asks the same twice, for an age that she has not
    Then the answer is 422 PREDICATE_NOT_SATISFIED
    And both answers are the same refusal
    And the refusal does not tell her age

  @410:CREDENTIAL_REVOKED
  Scenario: A bound credential that was revoked proves nothing more
    Given Hana's credential is bound to her
    And Ivo has made the revocation of her credential known
    When Aki asks whether she is 18
    Then the answer is 410 CREDENTIAL_REVOKED

  Scenario: An agent asks with an access token
    Given Hana lets Aki prove things about her
    When Aki shows an access token and asks
    Then the answer is 201

  Scenario: A value that the holder fixed needs not be said
    Given Hana lets Aki prove what she fixed herself
    And Hana pins the value 18 in her token
    When Aki asks with no value
    Then the answer is 201

  Scenario: The same request gives the same proof
    Given Hana lets Aki prove things about her
    When Aki asks the same twice
    Then both answers are the same proof

  Scenario: A repetition is not a second use
    Given Hana lets Aki prove once
    When Aki asks the same twice
    Then both answers are the same proof

  @422:PREDICATE_NOT_SATISFIED
  Scenario: What does not hold is refused, and refused again in the same words
    Given Hana lets Aki prove things about her
    When Aki asks the same twice, for an age that she has not
    Then the answer is 422 PREDICATE_NOT_SATISFIED
    And both answers are the same refusal
    And the refusal does not tell her age

  @400:INVALID_REQUEST
  Scenario Outline: A request of another shape
    Given Hana lets Aki prove things about her
    When Olu asks with <flaw>
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | flaw                            |
      | predicate and predicates        |
      | the one predicate as neq        |
      | a number of 17 digits           |
      | no value                        |
      | a wait of -1 ms                 |
      | a wait of 1.5 ms                |
      | a wait of true                  |
      | a wait of "5"                   |
      | a token with an eleventh member |
      | predicate and credentials |
      | a consent of a wallet |

  @400:INVALID_DID
  Scenario: A holder that is not a DID
    Given Hana lets Aki prove things about her
    When Olu asks with a holder that is not a DID
    Then the answer is 400 INVALID_DID

  @501:ANCHORING_DISABLED
  Scenario: Anchoring is off
    Given a service that does not anchor
    And Hana lets Aki prove things about her
    When Aki asks with the wish to be anchored
    Then the answer is 501 ANCHORING_DISABLED

  @403:FORBIDDEN
  Scenario Outline: Only the agent asks
    Given Hana lets Aki prove things about her
    When <name> asks for the same proof
    Then the answer is 403 FORBIDDEN

    Examples:
      | name    |
      | Mallory |
      | Hana    |

  @403:IBCT_INVALID
  Scenario Outline: A token that is not Hana's for Aki
    Given Hana lets Aki prove things about her
    When Olu asks with <flaw>
    Then the answer is 403 IBCT_INVALID

    Examples:
      | flaw                           |
      | a token of another type        |
      | a token with a short nonce     |
      | a token without a zone         |
      | a token from tomorrow          |
      | a token for ten years          |
      | a token for another agent      |
      | a token that a stranger signed |
      | an unknown holder              |

  @410:DID_DEACTIVATED
  Scenario: A holder who has left
    Given Hana lets Aki prove things about her
    And Hana has left for good
    When Aki asks for the same proof
    Then the answer is 410 DID_DEACTIVATED

  @410:IBCT_EXPIRED
  Scenario: A token of yesterday
    Given Hana lets Aki prove things about her
    When Aki asks with a token of yesterday
    Then the answer is 410 IBCT_EXPIRED

  @410:IBCT_REVOKED
  Scenario: A token that was called back
    Given Hana lets Aki prove things about her
    And Hana has called her token back
    When Aki asks for the same proof
    Then the answer is 410 IBCT_REVOKED

  @403:DELEGATION_INVALID
  Scenario Outline: A delegation that is not theirs
    Given Hana lets Aki prove things about her
    When Aki asks with <flaw>
    Then the answer is 403 DELEGATION_INVALID

    Examples:
      | flaw                          |
      | an unknown delegation         |
      | a delegation of another place |

  @410:DELEGATION_REVOKED
  Scenario: A delegation that was revoked
    Given Hana lets Aki prove things about her
    And Hana has revoked the delegation
    When Aki asks whether she is 18
    Then the answer is 410 DELEGATION_REVOKED

  @410:DELEGATION_EXPIRED
  Scenario: A delegation that has ended
    Given Hana lets Aki prove for a few seconds
    When Aki asks whether she is 18
    Then the answer is 410 DELEGATION_EXPIRED

  @403:DELEGATION_NOT_ACTIVE
  Scenario: A delegation that has not begun
    Given Hana lets Aki prove from tomorrow on
    When Aki asks whether she is 18
    Then the answer is 403 DELEGATION_NOT_ACTIVE

  @403:DELEGATION_NOT_ACTIVE
  Scenario: A delegation that Hana suspended
    Given Hana lets Aki prove things about her
    And Hana has suspended the delegation
    When Aki asks whether she is 18
    Then the answer is 403 DELEGATION_NOT_ACTIVE

  @403:IBCT_REPLAYED
  Scenario: A token serves one question
    Given Hana lets Aki prove things about her
    When Aki uses the token for another question
    Then the answer is 403 IBCT_REPLAYED

  @403:IBCT_REPLAYED
  Scenario: A token that was refused serves no other question either
    Given Hana lets Aki prove things about her
    When Aki uses a refused token for another question
    Then the answer is 403 IBCT_REPLAYED

  @403:DELEGATION_NOT_ACTIVE
  Scenario: What was refused is refused again in the same words
    Given Hana lets Aki prove from tomorrow on
    When Aki asks the same twice
    Then the answer is 403 DELEGATION_NOT_ACTIVE
    And both answers are the same refusal

  @403:AUTONOMY_TOO_LOW
  Scenario: Of several values that Hana listed the agent chooses one
    Given Hana lets Aki prove one of two values
    When Aki asks whether she is 18
    Then the answer is 403 AUTONOMY_TOO_LOW

  @409:REQUEST_IN_PROGRESS
  Scenario: The same request while its proof is being made
    Given a service whose proofs take a while
    And a good request for generateDelegatedProof
    When it is sent again while its proof is being made
    Then the answer is 409 REQUEST_IN_PROGRESS

  @403:SCOPE_MISMATCH
  Scenario Outline: An action that is not this question
    Given Hana lets Aki prove things about her
    When Aki asks with <flaw>
    Then the answer is 403 SCOPE_MISMATCH

    Examples:
      | flaw                           |
      | an action of another attribute |
      | an action that is a prefix     |
      | an action with a wildcard      |
      | an action pinned to 21         |
      | one predicate and two actions  |

  @403:SCOPE_MISMATCH
  Scenario Outline: A question that the delegation does not cover
    Given Hana lets Aki prove <terms>
    When Aki asks whether she is 18
    Then the answer is 403 SCOPE_MISMATCH

    Examples:
      | terms              |
      | another attribute  |
      | another credential |
      | another verifier   |

  @403:AUTONOMY_TOO_LOW
  Scenario: A question of the agent's own needs more autonomy
    Given Hana lets Aki prove what she fixed herself
    When Aki asks whether she is 18
    Then the answer is 403 AUTONOMY_TOO_LOW

  @404:CREDENTIAL_NOT_FOUND
  Scenario Outline: A credential that is not Hana's, or unknown
    Given Hana lets Aki prove things about her
    When Aki asks with <flaw>
    Then the answer is 404 CREDENTIAL_NOT_FOUND

    Examples:
      | flaw                        |
      | an unknown credential       |
      | another holder's credential |

  @410:CREDENTIAL_REVOKED
  Scenario Outline: A credential that its issuer took back
    Given Hana lets Aki prove things about her
    And Ivo has made the <purpose> of her credential known
    When Aki asks whether she is 18
    Then the answer is 410 CREDENTIAL_REVOKED

    Examples:
      | purpose    |
      | revocation |
      | suspension |

  @410:CREDENTIAL_EXPIRED
  Scenario: A credential outside its time
    Given Hana's credential is valid from tomorrow on
    When Aki asks whether she is 18
    Then the answer is 410 CREDENTIAL_EXPIRED

  @422:PREDICATE_UNSUPPORTED
  Scenario Outline: A question that cannot be asked
    Given Hana lets Aki prove things about her
    When Aki asks with <flaw>
    Then the answer is 422 PREDICATE_UNSUPPORTED

    Examples:
      | flaw                             |
      | a bound on the country           |
      | an attribute that is not there   |
      | a fraction for an integer        |
      | a value that every age satisfies |

  @403:DELEGATION_EXHAUSTED
  Scenario: No uses are left
    Given Hana lets Aki prove once
    And Aki has asked whether she is 18
    When Aki asks whether she is 18
    Then the answer is 403 DELEGATION_EXHAUSTED

  @403:DELEGATION_SUSPENDED
  Scenario: One refusal suspends
    Given Hana lets Aki prove things about her
    And Aki has asked whether she is 90
    When Aki asks whether she is 18
    Then the answer is 403 DELEGATION_SUSPENDED

  @403:DISCLOSURE_LIMIT
  Scenario: No further question is allowed
    Given Hana lets Aki prove one question
    And Aki has asked whether she is 18
    When Aki asks whether she is 21
    Then the answer is 403 DISCLOSURE_LIMIT

  @generateDelegatedProof
  Scenario Outline: How long Aki waits for the receipt
    Given Hana lets Aki prove things about her
    When Aki asks for an anchored proof and waits <milliseconds> ms
    Then the answer is 201
    And its anchor is <status>

    Examples:
      | milliseconds | status    |
      | 0            | pending   |
      | 30000        | confirmed |
      | 3600000      | confirmed |

  @generateDelegatedProof
  Scenario: A repetition gets the first receipt again
    Given Hana lets Aki prove things about her
    When Aki asks for an anchored proof twice
    Then both answers are the same proof

  @generateDelegatedProof
  Scenario: A receipt is unavailable without an anchor
    Given Hana lets Aki prove things about her
    When Aki asks for a proof without an anchor and waits 30000 ms
    Then the answer is 201
    And there is no anchor

  @503:PLUGIN_UNAVAILABLE
  Scenario: A prover that raises
    Given a service whose prover raises
    And a good request for generateDelegatedProof
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

  @504:PLUGIN_TIMEOUT
  Scenario: A prover that hangs
    Given a service whose prover hangs
    And a good request for generateDelegatedProof
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT
