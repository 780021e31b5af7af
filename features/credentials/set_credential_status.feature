Feature: Revoke, suspend or resume a credential

  # Status

  @setCredentialStatus
  Scenario: Suspended, and resumed
    Given Ivo has issued a credential to Hana
    And Ivo has suspended the credential
    When Ivo resumes the credential
    Then the answer is 200
    And the status is active

  @setCredentialStatus
  Scenario: Revoked twice
    Given Ivo has issued a credential to Hana
    And Ivo has revoked the credential
    When Ivo revokes the credential
    Then the answer is 200
    And the status is revoked

  @setCredentialStatus
  Scenario Outline: A copy in a wallet ends with its credential
    Given Hana's wallet has collected a credential of Ina's
    When Ina <ends> the credential
    Then the answer is 200
    And the status list that the copy names says <value> of it

    Examples:
      | ends     | value |
      | revokes  | 1     |
      | suspends | 2     |

  @setCredentialStatus @409:CONFLICT
  Scenario Outline: Revocation is final
    Given Ivo has issued a credential to Hana
    And Ivo has revoked the credential
    When Ivo <does> the credential
    Then the answer is 409 CONFLICT

    Examples:
      | does      |
      | suspends  |
      | unrevokes |

  @setCredentialStatus @403:FORBIDDEN
  Scenario: A holder does not revoke
    Given Ivo has issued a credential to Hana
    When Hana revokes the credential
    Then the answer is 403 FORBIDDEN

  @setCredentialStatus @404:CREDENTIAL_NOT_FOUND
  Scenario: A stranger does not learn of it
    Given Ivo has issued a credential to Hana
    When Mallory revokes the credential
    Then the answer is 404 CREDENTIAL_NOT_FOUND

  @setCredentialStatus @404:CREDENTIAL_NOT_FOUND
  Scenario: What is not there cannot be revoked
    When Ivo revokes an unknown credential
    Then the answer is 404 CREDENTIAL_NOT_FOUND

  @setCredentialStatus @400:INVALID_REQUEST
  Scenario: A purpose that there is not
    When the purpose of a status is oblivion
    Then the answer is 400 INVALID_REQUEST

  Scenario: A request that is sent twice is done once
    Given a good request for setCredentialStatus
    When it is sent twice with one Idempotency-Key
    Then both answers are the same
