Feature: Keys of the service that are replaced
  The operator replaces a key beside the running service. Clients continue as before: DIDs resolve, tokens are accepted,
  and a client that kept a checkpoint and the key that signed it finds that the log has grown from it.

  Scenario Outline: What users see before and after another key of <key>
    Given a machine with a service
    And Hana has a DID of the method "ids" with a service
    And Hana notes her DID, a token, a checkpoint and the keys of the service
    When the operator replaces the key of "<key>"
    Then her DID resolves to the same document
    And the token of before and a new one are taken
    And the log has grown from the checkpoint, as the key of before and the service's own DID lead to it
    And of the keys that she noted another one is in use for "<key>" alone
    And the DID of anybody else can be changed

    Examples:
      | key        |
      | log        |
      | checkpoint |
      | token      |
      | seal       |

  Scenario Outline: What users see after a key of <key> that was compromised
    Given a machine with a service
    And Hana has a DID of the method "ids" with a service
    And Hana notes her DID, a token, a checkpoint and the keys of the service
    When the operator replaces the key of "<key>", which was compromised
    Then her DID resolves to the same document
    And the token of before is <old token>, and a new one is taken
    And the key of before <leads> to the checkpoint
    And of the keys that she noted another one is in use for "<key>" alone

    Examples:
      | key        | old token | leads         |
      | checkpoint | taken     | does not lead |
      | token      | refused   | leads         |
