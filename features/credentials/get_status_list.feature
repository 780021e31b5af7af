Feature: Get a status list

  @getStatusList
  Scenario: A list before anything was revoked
    Given Ivo has issued a credential to Hana
    When Vera reads the status list
    Then the answer is 200
    And 0 bits of the list are set, that of the credential among them

  @getStatusList
  Scenario: A revoked credential is in the list
    Given Ivo has issued a credential to Hana
    And Ivo has revoked the credential
    When Vera reads the status list
    Then the answer is 200
    And 1 bit of the list is set, that of the credential
    And the list is signed by the key that DID logs name

  @getStatusList
  Scenario Outline: A list is returned as a credential on request
    Given Ivo has issued a credential to Hana
    When Vera reads the status list and accepts <accepted>
    Then the answer is 200
    And the list is <media> with a tag of its own
    And 0 bits of the list are set, that of the credential among them

    Examples:
      | accepted                            | media            |
      | application/vc                      | application/vc   |
      | application/vc, application/json    | application/json |
      | application/vc, */*;q=0.1           | application/vc   |
      | image/png                           | application/json |

  @getStatusList
  Scenario: A list that has not changed
    Given Ivo has issued a credential to Hana
    When Vera reads the status list again with the tag that she got
    Then the answer is 304

  @getStatusList @404:STATUS_LIST_NOT_FOUND
  Scenario Outline: A list that there is not
    When Vera asks for the status list <name>
    Then the answer is 404 STATUS_LIST_NOT_FOUND

    Examples:
      | name                              |
      | absent                            |
      | AAAAAAAAAAAAAAAAAAAAAA-revocation |
