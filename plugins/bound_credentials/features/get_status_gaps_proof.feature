Feature: Prove that a list of signed gaps is in the transparency log

  # What a service shows to one holder it has shown to all

  @getStatusGapsProof
  Scenario: The list of today is an entry of the log
    Given Ivo has issued a bound credential to Hana
    When Vera asks for the proof that the list of today is in the log
    Then the answer is 200
    And it proves, with the key of the log alone, that exactly this list is recorded

  @getStatusGapsProof
  Scenario: A holder takes no list that is not in the log
    Given Ivo has issued a bound credential to Hana
    When a mirror fetches the gap of the credential, and wants to see the list in the log
    Then it is told that the credential is not revoked

  @getStatusGapsProof @404:STATUS_LIST_NOT_FOUND
  Scenario Outline: A list that is not recorded
    When Vera asks for the proof of the list <digest>
    Then the answer is 404 STATUS_LIST_NOT_FOUND

    Examples:
      | digest                                      |
      | AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA |
      | AAAA                                        |
      | nothing.at.all                              |
