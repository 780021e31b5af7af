@resolveDid
Feature: Resolve a DID
  Anybody resolves a DID: now, at a version, at a time, in five media types.

  Scenario: The version in force
    Given Hana has a DID with a service
    When Vera resolves the DID of Hana
    Then the answer is 200
    And the document is version 1
    And the document has 1 services

  Scenario: An old version
    Given Hana has a DID
    And Hana has changed the document once
    When Vera resolves version 1 of the DID of Hana
    Then the answer is 200
    And the document has 0 services

  Scenario: The version at a time
    Given Hana has a DID
    When Vera resolves the DID of Hana at its first second
    Then the answer is 200
    And the document is version 1

  Scenario: Nothing has changed
    Given Hana has a DID
    When Vera resolves the DID of Hana again with the tag that she got
    Then the answer is 304

  Scenario: The bare document
    Given Hana has a DID
    When Vera resolves the DID of Hana as application/did+json
    Then the answer is 200
    And the bare document comes back as application/did+json

  Scenario: The bare document by the name that a W3C result gives it
    Given Hana has a DID
    When Vera resolves the DID of Hana as application/did
    Then the answer is 200
    And the bare document comes back as application/did

  Scenario: The W3C result
    Given Hana has a DID
    When Vera resolves the DID of Hana as application/did-resolution
    Then the answer is 200
    And a W3C resolution result comes back

  Scenario Outline: The media types that the clients of resolvers ask for
    Given Hana has a DID
    When Vera resolves the DID of Hana as <media>
    Then the answer is 200
    And it is <what> as <media>

    Examples:
      | media                                                        | what         |
      | application/ld+json                                          | the document |
      | application/ld+json;profile="https://w3id.org/did-resolution" | a result     |

  Scenario: A registered did:key resolves
    Given Hana has registered a did:key of her own
    When Vera resolves the DID of Hana
    Then the answer is 200

  @404:DID_NOT_FOUND
  Scenario: A version that there is not
    Given Hana has a DID
    When Vera resolves version 9 of the DID of Hana
    Then the answer is 404 DID_NOT_FOUND

  @404:DID_NOT_FOUND
  Scenario: A time before the DID
    Given Hana has a DID
    When Vera resolves the DID of Hana a year before it was made
    Then the answer is 404 DID_NOT_FOUND

  @406:NOT_ACCEPTABLE
  Scenario: An unsupported media type
    Given Hana has a DID
    When Vera resolves the DID of Hana as text/html
    Then the answer is 406 NOT_ACCEPTABLE

  @410:DID_DEACTIVATED
  Scenario: An old version of a deactivated DID
    Given Hana has a DID
    And Hana has deactivated the DID
    When Vera resolves version 1 of the DID of Hana
    Then the answer is 410 DID_DEACTIVATED
    And the refusal carries the document of that version

  Scenario: The document, as its controller published it
    Given Hana publishes a DID on the web
    When Vera resolves the DID of Hana
    Then the answer is 200
    And the document is the one that Hana publishes

  Scenario Outline: Each form that DID Core allows
    Given Hana publishes a DID on the web with <form>
    When Vera resolves the DID of Hana
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

  @406:NOT_ACCEPTABLE
  Scenario: A document with a private key
    Given Hana publishes a DID on the web with a private key
    When Vera resolves the DID of Hana
    Then the answer is 406 NOT_ACCEPTABLE

  @404:DID_NOT_FOUND
  Scenario: A document that was taken down
    Given Hana published a DID on the web and has taken it down
    When Vera resolves the DID of Hana
    Then the answer is 404 DID_NOT_FOUND

  @404:DID_NOT_FOUND
  Scenario: A document of another DID
    Given Mallory publishes a document in the name of another DID
    When Vera resolves the DID of Mallory
    Then the answer is 404 DID_NOT_FOUND

  @404:DID_NOT_FOUND
  Scenario: It has no versions here
    Given Hana publishes a DID on the web
    When Vera resolves version 1 of the DID of Hana
    Then the answer is 404 DID_NOT_FOUND

  @503:PLUGIN_UNAVAILABLE
  Scenario: A host that is out of order
    Given Hana publishes a DID at a host that is out of order
    When Vera resolves the DID of Hana
    Then the answer is 503 PLUGIN_UNAVAILABLE
