Feature: What holds for every operation of wallets
  Refusals before the operation is called, and faults that no client causes.

  @403:FORBIDDEN
  Scenario Outline: A key that may do something else
    Given Olu has an API key that may only list DIDs
    When Olu sends <operation> with it
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation           |
      | requestPresentation |
      | getPresentation     |

  @403:FORBIDDEN
  Scenario Outline: A key that may not
    Given Olu has an API key that may only list DIDs
    When Olu sends <operation> with it
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation             |
      | createCredentialOffer |
