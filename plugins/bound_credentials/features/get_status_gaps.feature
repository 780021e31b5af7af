Feature: Get the list of signed gaps

  # Which handles of bound credentials are not revoked

  @getStatusGaps
  Scenario: The list of today
    Given Ivo has issued a bound credential to Hana
    When Vera reads the signed gaps of today
    Then the answer is 200
    And they are signed by Ivo's key, and the handle lies in one

  @getStatusGaps
  Scenario: A mirror reads them with the command
    Given Ivo has issued a bound credential to Hana
    When a mirror fetches the gap of the credential
    Then it is told that the credential is not revoked

  @getStatusGaps @404:STATUS_LIST_NOT_FOUND
  Scenario Outline: A list or an epoch that there is not
    When Vera asks for the signed gaps of <list> at <epoch>
    Then the answer is 404 STATUS_LIST_NOT_FOUND

    Examples:
      | list                   | epoch            |
      | absent                 | 20780            |
      | AAAAAAAAAAAAAAAAAAAAAA | 20780            |
      | AAAAAAAAAAAAAAAAAAAAAA | 020780           |
      | AAAAAAAAAAAAAAAAAAAAAA | today            |
      | AAAAAAAAAAAAAAAAAAAAAA | 9999999999999999 |
