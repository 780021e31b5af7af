Feature: Get a shard of signed gaps

  @getStatusGapShard
  Scenario: The shard that the list names
    Given Ivo has issued a bound credential to Hana
    When Vera reads the shard of the list of today
    Then the answer is 200
    And its bytes have the digest that the list says, and never change

  @getStatusGapShard @404:STATUS_LIST_NOT_FOUND
  Scenario Outline: A shard that there is not
    When Vera asks for the shard <digest>
    Then the answer is 404 STATUS_LIST_NOT_FOUND

    Examples:
      | digest                                      |
      | AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA |
      | AAAA                                        |
      | nothing.at.all                              |
