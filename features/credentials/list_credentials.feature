Feature: List credentials

  @listCredentials
  Scenario: A list holds no values
    Given Ivo has issued a credential to Hana
    When Hana lists credentials
    Then the answer is 200
    And no value is in it

  @listCredentials
  Scenario: A list in pages
    Given Ivo has issued a credential to Hana
    And Ivo has issued a credential to Hana
    When Hana lists credentials one by one
    Then the answer is 200
    And the pages do not overlap

  @listCredentials
  Scenario: An operator lists for a holder
    Given Olu has an API key for the DID of Hana
    When Olu lists the credentials of Hana with the key
    Then the answer is 200

  @listCredentials @403:FORBIDDEN
  Scenario: An operator cannot list for another holder
    Given Olu has an API key for the DID of Hana
    When Olu lists the credentials of Mallory with the key
    Then the answer is 403 FORBIDDEN

  @listCredentials @400:INVALID_REQUEST
  Scenario Outline: A list with invalid parameters
    When listCredentials is asked for <what>
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | what           |
      | everybody's    |
      | a made-up page |

  @listCredentials @400:INVALID_DID
  Scenario: A list of a text that is not a DID
    When listCredentials is asked for no DID
    Then the answer is 400 INVALID_DID
