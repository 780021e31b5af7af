Feature: What was verified, and with what challenges
  Vera verified Hana's proof. She sees that she did; Hana sees that Vera did; no one else sees anything.

  @400:INVALID_REQUEST
  Scenario Outline: A question that is none
    When Olu sends <operation> with the query <query>
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | operation               | query          |
      | listVerificationHistory | from=yesterday |
      | listVerificationHistory | cursor=AAAA    |
      | listVerificationHistory | limit=0        |
      | listVerificationHistory | verified=maybe |
      | getVerificationStats    | to=2026-01-01  |
