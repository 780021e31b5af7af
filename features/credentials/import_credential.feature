Feature: Import a credential that its issuer has signed

  # Importing

  @importCredential
  Scenario: An issuer who signs at home
    Given Irma keeps her keys to herself
    When Irma imports a credential of Hana that she signed at home
    Then the answer is 201
    And the credential says what was asked for

  @importCredential @422:INVALID_CREDENTIAL
  Scenario Outline: What the issuer did not sign
    Given Irma keeps her keys to herself
    When Irma imports a credential of Hana with <what>
    Then the answer is 422 INVALID_CREDENTIAL
    And no value is in it

    Examples:
      | what                        |
      | values that were not signed |
      | an invalid signature        |
      | another issuer's key        |

  @importCredential
  Scenario: A credential on a secret that a wallet keeps
    When Ivo imports a credential that Hana's wallet asked for
    Then the answer is 201
    And the credential is one of suite 2 that Ivo's header names

  @importCredential @409:CONFLICT
  Scenario: An id that a credential has already
    When Ivo imports a credential that Hana's wallet asked for
    And Ivo imports it again with nothing changed
    Then the answer is 409 CONFLICT

  @importCredential @422:INVALID_CREDENTIAL
  Scenario Outline: What the issuer did not sign for a wallet
    When Ivo imports a credential that Hana's wallet asked for
    And Ivo imports it again with <what>
    Then the answer is 422 INVALID_CREDENTIAL

    Examples:
      | what                         |
      | a handle that was not signed |
      | an unknown list              |

  @importCredential @404:SCHEMA_NOT_FOUND
  Scenario: A signature for a schema that there is not
    Given Irma keeps her keys to herself
    When Irma imports a credential of Hana with an unregistered schema
    Then the answer is 404 SCHEMA_NOT_FOUND

  Scenario: A request that is sent twice is done once
    Given a good request for importCredential
    When it is sent twice with one Idempotency-Key
    Then both answers are the same
