Feature: Records are read as everything else
  What is wrong before a row is read, and what breaks that no client can cause.

  @403:FORBIDDEN
  Scenario Outline: A key that may do something else
    Given Olu has an API key that may only list DIDs
    When Olu sends <operation> with it
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | describeDids            |
      | getCredentialStats      |
      | suspendDelegations      |

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

  @400:INVALID_DID
  Scenario Outline: A nickname is for a DID
    When Hana sends <operation> for what is not a DID
    Then the answer is 400 INVALID_DID

    Examples:
      | operation   |
      | setLabel    |
      | deleteLabel |
