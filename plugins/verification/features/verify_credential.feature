Feature: Check a credential

  # Checking

  @verifyCredential
  Scenario: A good credential
    Given Ivo has issued a credential to Hana
    When Vera verifies the credential
    Then the answer is 200
    And the verdict is good

  @verifyCredential
  Scenario Outline: A changed credential of suite 1
    Given Ivo has issued a credential of suite 1 to Hana
    When Vera verifies the credential with another <member>
    Then the answer is 200
    And the verdict is <outcome> by <check>

    Examples:
      | member | outcome              | check     |
      | age    | SIGNATURE_INVALID    | signature |
      | holder | RECORD_MISMATCH      | record    |
      | id     | CREDENTIAL_UNKNOWN   | record    |
      | member | CREDENTIAL_MALFORMED | form      |

  @verifyCredential
  Scenario: A good credential that is bound to its holder
    Given Ivo has issued a bound credential to Hana
    When Vera verifies the credential
    Then the answer is 200
    And the verdict is good

  @verifyCredential
  Scenario Outline: A bound credential that was changed
    Given Ivo has issued a bound credential to Hana
    When Vera verifies the credential with another <member>
    Then the answer is 200
    And the verdict is <outcome> by <check>

    Examples:
      | member | outcome              | check     |
      | age    | SIGNATURE_INVALID    | signature |
      | holder | SIGNATURE_INVALID    | signature |
      | id     | SIGNATURE_INVALID    | signature |
      | member | CREDENTIAL_MALFORMED | form      |

  @verifyCredential
  Scenario Outline: A suspended or revoked credential
    Given Ivo has issued a credential to Hana
    And Ivo has <done> the credential
    When Vera verifies the credential
    Then the answer is 200
    And the verdict is <outcome> by status

    Examples:
      | done      | outcome              |
      | suspended | CREDENTIAL_SUSPENDED |
      | revoked   | CREDENTIAL_REVOKED   |

  @verifyCredential
  Scenario: An issuer about whom what is stored does not follow from the ledger is no error and no verdict
    Given a service whose index was changed by another program
    And a good request for verifyCredential
    When the fault strikes and it is sent
    Then the answer is 200
    And the verdict leaves the issuer's key open, by ISSUER_UNAVAILABLE
