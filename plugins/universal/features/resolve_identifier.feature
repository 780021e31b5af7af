@resolveIdentifier
Feature: Resolve a DID or dereference a DID URL
  Clients of the DIF Universal Resolver ask as they ask everywhere.

  Scenario: A client that knows nothing of this service
    Given Hana has a DID with a service
    When a stock resolver asks for the DID of Hana
    Then the answer is 200
    And a W3C resolution result comes back

  Scenario Outline: Each form that a client may ask for
    Given Hana has a DID
    When the DID of Hana is looked up as <media>
    Then the answer is 200
    And it is <what> as <answered>

    Examples:
      | media                             | what         | answered                          |
      | application/did-resolution        | a result     | application/did-resolution        |
      | application/json                  | a result     | application/json                  |
      | application/did                   | the document | application/did                   |
      | application/did+json              | the document | application/did+json              |
      | application/did+ld+json           | the document | application/did+ld+json           |
      | application/ld+json               | the document | application/ld+json               |
      | application/did-url-dereferencing | the content  | application/did-url-dereferencing |

  Scenario: A key by its fragment
    Given Hana has a DID
    When the authentication key of Hana is looked up
    Then the answer is 200
    And it is the content as application/did-url-dereferencing

  Scenario: The place of a service
    Given Hana has a DID with a service
    When what follows the DID of Hana is ?service=didcommmessaging-1&relativeRef=%2Fbox
    Then the answer is 303
    And it leads to the service of Hana

  Scenario: Nothing has changed
    Given Hana has a DID
    When the DID of Hana is looked up again with the tag that came
    Then the answer is 304

  @400:INVALID_DID_URL
  Scenario: A version that is not a number
    Given Hana has a DID
    When what follows the DID of Hana is ?versionId=first
    Then the answer is 400 INVALID_DID_URL

  @404:DID_URL_NOT_FOUND
  Scenario: A key that the document does not have
    Given Hana has a DID
    When what follows the DID of Hana is #absent
    Then the answer is 404 DID_URL_NOT_FOUND

  @406:NOT_ACCEPTABLE
  Scenario: An unsupported form
    Given Hana has a DID
    When the DID of Hana is looked up as text/html
    Then the answer is 406 NOT_ACCEPTABLE

  @501:DID_METHOD_NOT_SUPPORTED
  Scenario: A method that is not installed
    When resolveIdentifier is asked for the DID did:example:123
    Then the answer is 501 DID_METHOD_NOT_SUPPORTED

  Scenario: A document, as its controller published it
    Given Hana publishes a DID on the web
    When the DID of Hana is looked up as application/did-resolution
    Then the answer is 200
    And the document is the one that Hana publishes

  Scenario Outline: Each form that DID Core allows
    Given Hana publishes a DID on the web with <form>
    When the DID of Hana is looked up as application/did-resolution
    Then the answer is 200
    And the document is the one that Hana publishes

    Examples:
      | form                            |
      | one context as a text           |
      | no context                      |
      | a context with a map            |
      | only an id                      |
      | a list of controllers           |
      | a method in a relationship      |
      | relative references             |
      | a key on secp256k1              |
      | an RSA key                      |
      | a JWK as WebCrypto exports it   |
      | a key in base58                 |
      | an account of a chain           |
      | a multikey in base64url         |
      | a key that was revoked          |
      | an endpoint as a map            |
      | a list of endpoints             |
      | a list of types                 |
      | members that are not understood |
      | empty lists                     |

  Scenario Outline: A part of a document from elsewhere
    Given Hana publishes a DID on the web with <form>
    When what follows the DID of Hana is #<fragment>
    Then the answer is 200
    And it is what Hana publishes as <fragment>

    Examples:
      | form                       | fragment |
      | a method in a relationship | key-1    |
      | relative references        | key-1    |
      | an RSA key                 | key-1    |
      | an account of a chain      | key-1    |
      | an endpoint as a map       | files    |
      | a list of types            | files    |

  @501:FEATURE_NOT_SUPPORTED
  Scenario: Freshness of a document published elsewhere is not promised
    Given Hana publishes a DID on the web
    When the DID of Hana is looked up past every cache
    Then the answer is 501 FEATURE_NOT_SUPPORTED

  Scenario: What is recorded here is always fresh
    Given Hana has a DID
    When the DID of Hana is looked up past every cache
    Then the answer is 200

  @501:FEATURE_NOT_SUPPORTED
  Scenario: A path has no meaning
    Given Hana has a DID
    When what follows the DID of Hana is /path
    Then the answer is 501 FEATURE_NOT_SUPPORTED

  @503:PLUGIN_UNAVAILABLE
  Scenario: A host that is out of order
    Given Hana publishes a DID at a host that is out of order
    When the DID of Hana is looked up as application/did-resolution
    Then the answer is 503 PLUGIN_UNAVAILABLE
