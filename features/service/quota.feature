Feature: Quota of writes
  A DID that signs in by itself may write much, and not without end. API keys have no quota.

  @revokeIbct
  Scenario: Who has written as much as he may can still call back what he gave
    Given a service that lets a DID write a little a day
    And Hana has a DID
    When Hana has signed for tokens until none is given and calls a token back
    Then the answer is 200
