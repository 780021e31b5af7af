@verifyProof
Feature: Verify a proof
  The verifier states its question. The answer to an invalid proof gives the reason; what was not checked is named.

  Scenario: A stranger may verify, and is told what it did not look at
    Given Aki has a proof about Hana
    When a stranger verifies what Aki shows
    Then the answer is 200
    And it is verified
    And predicate, challenge, domain, issuerDid, schemaId, maxAge, holder, credentialValidity, credentialStatus, revocation are listed as unchecked
    And its verdict is unbound without predicate, challenge, domain, issuerDid

  Scenario: A proof is valid if it is compared with predicate, challenge, domain and issuer
    Given Vera has a challenge for https://shop.example
    And the proof shall answer it
    And Aki has a proof about Hana for https://shop.example
    When Vera verifies it as a proof of exactly what she asked
    Then its verdict is valid

  Scenario: A proof for another verifier is invalid, and the answer names it
    Given Aki has a proof about Hana for https://shop.example
    When Vera verifies it as a proof for another shop
    Then its verdict is invalid, with https://shop.example found in place of https://other.example

  Scenario: A proof of what was asked
    Given Aki has a proof about Hana for https://shop.example
    When Vera verifies it as a proof of what she asked
    Then it is verified
    And its verdict is unbound without challenge
    And challenge, schemaId, maxAge, holder, credentialValidity, credentialStatus, revocation are listed as unchecked
    And the answer must not be cached

  Scenario: A proof of suite 1 needs records
    Given Hana's credential is of suite 1
    And Aki has a proof about Hana for https://shop.example
    When Vera verifies it as a proof that needs no record
    Then it is refused with NOT_PROVEN by holder, credentialValidity, credentialStatus
    And predicate, challenge, domain, issuerDid, schemaId, maxAge, revocation are listed as unchecked
    And it names no status list

  Scenario: A proof with a bound credential needs none
    Given Hana's credential is bound to her
    And Aki has a proof about Hana for https://shop.example
    When Vera verifies it as a proof that needs no record
    Then it is verified
    And predicate, challenge, domain, issuerDid, schemaId, maxAge, revocation are listed as unchecked
    And it names the published status list by which it states that

  Scenario: How old the status list may be is the verifier's choice
    Given Hana's credential is bound to her
    And Aki has a proof about Hana for https://shop.example
    When Vera verifies it as a proof by a status list of this hour
    Then it is verified

  Scenario: A proof of suite 1 is by no status list
    Given Hana's credential is of suite 1
    And Aki has a proof about Hana for https://shop.example
    When Vera verifies it as a proof by a status list of this hour
    Then it is refused with NOT_PROVEN by statusAge

  Scenario Outline: A proof of something else
    Given Aki has a proof about Hana for https://shop.example
    When Vera verifies it as a proof <what>
    Then it is refused with <code>

    Examples:
      | what                      | code                    |
      | that Hana is 21           | PREDICATE_MISMATCH      |
      | for another shop          | DOMAIN_MISMATCH         |
      | of another issuer         | ISSUER_MISMATCH         |
      | with another challenge    | CHALLENGE_MISMATCH      |
      | of this very instant      | PROOF_TOO_OLD           |
      | that an agent handed over | AGENT_MISMATCH          |
      | with a consent in advance | NOT_PROVEN              |
      | whose signals were edited | PUBLIC_SIGNALS_MISMATCH |
      | that is none              | PROOF_INVALID           |

  Scenario: A challenge of the service serves once
    Given Vera has a challenge for https://shop.example
    And Aki has a proof that is bound to it
    When Vera verifies it with that challenge twice
    Then it is refused with CHALLENGE_SPENT

  Scenario: A verdict whose answer was lost is repeated for the same request alone
    Given Vera has a challenge for https://shop.example
    And Aki has a proof that is bound to it
    When Vera verifies it with that challenge again after a lost answer
    Then it is verified
    And both answers are the same
    When Mallory verifies it with that challenge and Idempotency-Key
    Then it is refused with CHALLENGE_UNKNOWN
    When Vera verifies it with that challenge in another request
    Then it is refused with CHALLENGE_SPENT

  Scenario: A challenge of the service is its verifier's alone
    Given Vera has a challenge for https://shop.example
    And Aki has a proof that is bound to it
    When Mallory verifies it with that challenge
    Then it is refused with CHALLENGE_UNKNOWN

  @400:INVALID_REQUEST
  Scenario Outline: What no verifier can mean
    When a client sends verifyProof with <what>
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | what                        |
      | a number of 17 digits       |
      | half a predicate            |
      | predicate and predicates    |
      | no predicates               |
      | seventeen predicates        |
      | a challenge of five letters |
      | a surprise                  |

  Scenario: A proof of two predicates is one of both, in their order
    Given Aki has a proof that Hana is 18 and from Japan
    When Vera verifies it as a proof of both predicates
    Then it is verified

  Scenario Outline: A proof of two predicates is none of one, nor of others
    Given Aki has a proof that Hana is 18 and from Japan
    When Vera verifies it as a proof <what>
    Then it is refused with PREDICATE_MISMATCH

    Examples:
      | what                     |
      | that Hana is 21          |
      | that Hana is 18 alone    |
      | of both the other way    |
      | of both and one more     |

  @503:PLUGIN_UNAVAILABLE
  Scenario: Without a prover nothing is said about the proof
    Given a service whose prover raises
    And a good request for verifyProof
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

  @504:PLUGIN_TIMEOUT
  Scenario: A prover that hangs is given up at its deadline
    Given a service whose prover hangs
    And a good request for verifyProof
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT
