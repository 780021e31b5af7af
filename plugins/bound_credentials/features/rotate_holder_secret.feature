@rotateHolderSecret
Feature: A holder rotates the secret that her credentials are bound to
  The service's custodian keeps it. What is issued from then on is bound to the next one, and nothing carries over what was issued.

  Background:
    Given Hana has two credentials that are bound to her, and lets Aki show them together

  Scenario: What was issued still proves, and she is told what it is
    When Hana rotates her secret
    Then the answer is 200
    And the answer must not be cached
    And she is told that both credentials of Ivo's are bound to the generation before
    And Hana's timeline tells that it was rotated
    And Aki proves something with a credential from before
    And Aki proves something with both credentials at once

  Scenario: What is issued anew is bound to the next generation
    Given Hana has rotated her secret
    When Ivo issues one of the credentials anew
    And Hana rotates her secret
    Then she is told that the credential that was issued anew is of generation 2
    And the record of the credential that was issued anew tells that her secret is another one
    And Aki proves something with the credential that was issued anew

  Scenario: One from before and one from after have no holder in common
    Given Hana has rotated her secret
    When Ivo issues one of the credentials anew
    Then Aki proves nothing with one from before and one from after

  Scenario: Nothing is proved with what she has forgotten
    Given Hana has rotated her secret
    When Ivo issues one of the credentials anew
    And Hana has her former secrets forgotten
    Then the answer is 200
    And she is told that both credentials of Ivo's are bound to the generation before
    And Hana's timeline tells that former ones are forgotten
    And Aki proves something with the credential that was issued anew
    And with a credential from before the answer is 410 CREDENTIAL_REVOKED, which says what to do
    And to forget once more tells of none

  Scenario: To forget before anything was rotated costs nothing
    When Hana has her former secrets forgotten
    Then she is told of none
    And Aki proves something with a credential from before

  Scenario: Another holder's secret is not touched
    When Mallory rotates her secret
    Then she is told of none
    And Aki proves something with both credentials at once

  @401:AUTH_REQUIRED
  Scenario: An API key does not do it for her
    When her secret is rotated with an API key
    Then the answer is 401 AUTH_REQUIRED

  @401:AUTH_FAILED
  Scenario: Her token is not enough
    When her secret is rotated with Hana's token
    Then the answer is 401 AUTH_FAILED

  @400:INVALID_REQUEST
  Scenario: A request that says not what is wanted
    When Hana rotates her secret without saying whether former ones go
    Then the answer is 400 INVALID_REQUEST

  @503:PLUGIN_UNAVAILABLE
  Scenario: A ledger that cannot be asked who signs
    Given a service whose plugins hang
    And a good request for rotateHolderSecret
    When the fault strikes and it is sent under the signature of an unregistered DID
    Then the answer is 503 PLUGIN_UNAVAILABLE
