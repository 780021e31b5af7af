@getJwks
Feature: Get the keys that verify access tokens

  Scenario: The key in use comes first, the next one is there before it is used
    When the keys of the tokens are asked for
    Then the answer is 200
    And there are two Ed25519 keys
    And the same keys stand at /.well-known/jwks.json

  Scenario Outline: The documents that lead to the keys name the service
    When the keys of the tokens are asked for
    Then the answer is 200
    And <path> names the origin of the service as <member>

    Examples:
      | path                                    | member   |
      | /.well-known/oauth-authorization-server | issuer   |
      | /.well-known/oauth-protected-resource   | resource |

  Scenario: The interface has metadata of its own, where a challenge says
    When the keys of the tokens are asked for
    Then the answer is 200
    And the challenge of an operation that takes tokens leads to the metadata of the interface
