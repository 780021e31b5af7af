Feature: What was verified, and with what challenges
  Vera verified Hana's proof. She sees that she did; Hana sees that Vera did; nobody else sees anything.

  Scenario Outline: An operator sees it all
    Given a good request for <operation>
    When it is sent
    Then the answer is <status>
    And nobody may keep a copy of the answer

    Examples:
      | operation               | status |
      | createVerifierChallenge | 201    |
      | listVerificationHistory | 200    |
      | getVerificationStats    | 200    |

  @listVerificationHistory
  Scenario: The holder sees who verified, newest first
    Given Aki has a proof about Hana for https://shop.example
    And Vera has verified it
    And Vera has verified it for another shop
    When Hana reads the verifications
    Then it lists DOMAIN_MISMATCH, a success
    And it tells whose proof it was

  @listVerificationHistory
  Scenario: The verifier sees what she did and not whose proof it was
    Given Aki has a proof about Hana
    And Vera has verified it
    When Vera reads the verifications
    Then it lists a success
    And it hides whose proof it was

  @listVerificationHistory
  Scenario: Nor can she find out by asking
    Given Aki has a proof about Hana
    And Vera has verified it
    When Vera reads the verifications of Hana
    Then nothing is listed

  @listVerificationHistory
  Scenario Outline: Nobody else sees anything
    Given Aki has a proof about Hana
    And Vera has verified it
    When <who> reads the verifications
    Then nothing is listed

    Examples:
      | who     |
      | Aki     |
      | Ivo     |
      | Mallory |

  @listVerificationHistory
  Scenario: A list in pages
    Given Aki has a proof about Hana for https://shop.example
    And Vera has verified it
    And Vera has verified it for another shop
    When Hana reads the verifications one by one
    Then the pages are the list

  @getVerificationStats
  Scenario: The holder counts
    Given Aki has a proof about Hana for https://shop.example
    And Vera has verified it
    And Vera has verified it for another shop
    When Hana counts the verifications
    Then it counts 1 that held and 1 that did not, for DOMAIN_MISMATCH

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
