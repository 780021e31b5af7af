Feature: Issue a credential

  # Issuing

  @issueCredential
  Scenario: An issuer whose key the service holds
    When Ivo issues a credential to Hana
    Then the answer is 201
    And the credential says what was asked for
    And the credential is one of suite 2 that Ivo's header names
    And the signature is not in it
    And the answer must not be cached

  @issueCredential @422:INVALID_CREDENTIAL
  Scenario Outline: What breaks the schema
    When Ivo issues a credential to Hana with <what>
    Then the answer is 422 INVALID_CREDENTIAL
    And no value is in it

    Examples:
      | what                                       |
      | a fraction for an integer                  |
      | a text for an integer                      |
      | an age beyond the schema                   |
      | more digits than the scale                 |
      | no value for an attribute                  |
      | an attribute that the schema does not have |
      | an end in the past                         |

  @issueCredential @422:INVALID_CREDENTIAL
  Scenario: An issuer who keeps her keys
    Given Irma keeps her keys to herself
    When Irma issues a credential to Hana
    Then the answer is 422 INVALID_CREDENTIAL

  # Suite 1

  @issueCredential
  Scenario: A credential of suite 1, for who asks for it
    When Ivo issues a credential of suite 1 to Hana
    Then the answer is 201
    And the credential is one of suite 1
    And the signature is not in it

  @issueCredential
  Scenario: What suite 2 cannot say, where no suite is asked for
    When Ivo issues a credential to Hana that ends within a day
    Then the answer is 201
    And the credential is one of suite 1

  # Suite 2

  @issueCredential
  Scenario: A credential that is bound to its holder
    When Ivo issues a bound credential to Hana
    Then the answer is 201
    And the credential is one of suite 2 that Ivo's header names
    And the signature is not in it
    And the answer must not be cached

  @issueCredential @422:INVALID_CREDENTIAL
  Scenario Outline: What suite 2 does not sign
    When Ivo issues a bound credential to Hana with <what>
    Then the answer is 422 INVALID_CREDENTIAL
    And no value is in it

    Examples:
      | what                       |
      | an end within a day        |
      | a beginning within a day   |
      | an end in the far future   |
      | a fraction for an integer  |

  @issueCredential @409:CONFLICT
  Scenario: Another secret of the holder, which the issuer did not accept
    Given Hana has two credentials that are bound to her
    And Hana has rotated her secret
    When Ivo issues a credential as if the secret were the same
    Then the answer is 409 CONFLICT
    And the answer tells to send newHolderSecret

  @issueCredential @400:INVALID_REQUEST
  Scenario: A suite that there is not
    When Ivo issues a bound credential to Hana with suite 3
    Then the answer is 400 INVALID_REQUEST

  @issueCredential @404:SCHEMA_NOT_FOUND
  Scenario: A schema that there is not
    When Ivo issues a credential to Hana with an unregistered schema
    Then the answer is 404 SCHEMA_NOT_FOUND

  Scenario: A request that is sent twice is done once
    Given a good request for issueCredential
    When it is sent twice with one Idempotency-Key
    Then both answers are the same
