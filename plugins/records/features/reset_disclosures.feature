@resetDisclosures
Feature: A holder begins the count of questions about a credential anew
  Agents together get three different questions about an attribute answered. Only an agent that is new after a reset gets three more.

  Scenario: An agent that is delegated to anew asks again
    Given Aki has had every question about Hana's age answered that there is
    When Hana begins the count of questions anew
    Then the answer is 200
    And the answer must not be cached
    And Hana's timeline tells of it
    And a new agent of Hana's gets 3 questions answered

  Scenario: Without it, a new agent asks nothing
    Given Aki has had every question about Hana's age answered that there is
    Then a new agent of Hana's gets 0 questions answered

  Scenario: An agent that has answers gets no more
    Given Aki has had every question about Hana's age answered that there is
    When Hana begins the count of questions anew
    Then Aki gets 0 questions answered
    And Aki gets 0 questions answered under a delegation that is new

  @404:CREDENTIAL_NOT_FOUND
  Scenario: A stranger does not learn of the credential
    Given Aki has had every question about Hana's age answered that there is
    When Mallory begins the count of questions anew
    Then the answer is 404 CREDENTIAL_NOT_FOUND
    And a new agent of Hana's gets 0 questions answered

  @403:FORBIDDEN
  Scenario Outline: Those who know of the credential do not do it for her
    Given Aki has had every question about Hana's age answered that there is
    When <who> begins the count of questions anew
    Then the answer is 403 FORBIDDEN
    And a new agent of Hana's gets 0 questions answered

    Examples:
      | who |
      | Aki |
      | Ivo |

  @401:AUTH_REQUIRED
  Scenario: An API key does not do it for her
    Given Aki has had every question about Hana's age answered that there is
    When the count of questions is begun anew with an API key
    Then the answer is 401 AUTH_REQUIRED
    And a new agent of Hana's gets 0 questions answered

  @401:AUTH_FAILED
  Scenario: Her token is not enough
    Given Aki has had every question about Hana's age answered that there is
    When the count of questions is begun anew with Hana's token
    Then the answer is 401 AUTH_FAILED
    And a new agent of Hana's gets 0 questions answered

  @400:INVALID_REQUEST
  Scenario: A request that says not which credential
    When Hana begins the count of questions of nothing anew
    Then the answer is 400 INVALID_REQUEST

  @503:PLUGIN_UNAVAILABLE
  Scenario: A ledger that cannot be asked who signs
    Given a service whose plugins hang
    And a good request for resetDisclosures
    When the fault strikes and it is sent under the signature of an unregistered DID
    Then the answer is 503 PLUGIN_UNAVAILABLE
