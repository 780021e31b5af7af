@resolveIdentifierWithOptions
Feature: Resolve a DID or dereference a DID URL, with the options in the body
  The same answers as by GET, for clients that send their options as JSON.

  Scenario Outline: Each form that a client may ask for
    Given Hana has a DID
    When the DID of Hana is posted with accept <media>
    Then the answer is 200
    And it is <what> as <answered>

    Examples:
      | media                             | what         | answered                          |
      | application/did-resolution        | a result     | application/did-resolution        |
      | application/did                   | the document | application/did                   |
      | application/did-url-dereferencing | the content  | application/did-url-dereferencing |

  Scenario: A client that knows nothing of this service
    Given Hana has a DID with a service
    When a stock resolver posts the DID of Hana with versionId 1
    Then the answer is 200
    And it is a result as application/ld+json;profile="https://w3id.org/did-resolution"

  Scenario: The place of a service
    Given Hana has a DID with a service
    When the DID of Hana is posted with service didcommmessaging-1 and relativeRef /box
    Then the answer is 303
    And it leads to the service of Hana

  @400:INVALID_REQUEST
  Scenario: A version that is not text
    Given Hana has a DID
    When the DID of Hana is posted with a number for versionId
    Then the answer is 400 INVALID_REQUEST

  @400:INVALID_DID_URL
  Scenario: A version that is not a number
    Given Hana has a DID
    When the DID of Hana is posted with ?versionId=first behind it
    Then the answer is 400 INVALID_DID_URL

  @404:DID_URL_NOT_FOUND
  Scenario: A service that the document does not have
    Given Hana has a DID
    When the DID of Hana is posted with service absent
    Then the answer is 404 DID_URL_NOT_FOUND

  @406:NOT_ACCEPTABLE
  Scenario: An unsupported form
    Given Hana has a DID
    When the DID of Hana is posted with accept text/html
    Then the answer is 406 NOT_ACCEPTABLE

  @501:DID_METHOD_NOT_SUPPORTED
  Scenario: A method that is not installed
    When resolveIdentifierWithOptions is asked for the DID did:example:123
    Then the answer is 501 DID_METHOD_NOT_SUPPORTED

  @501:FEATURE_NOT_SUPPORTED
  Scenario: A path has no meaning
    Given Hana has a DID
    When the DID of Hana is posted with /path behind it
    Then the answer is 501 FEATURE_NOT_SUPPORTED

  @503:DID_QUARANTINED
  Scenario: What is stored about a DID and does not follow from the ledger decides nothing
    Given a service whose index was changed by another program
    And a good request for resolveIdentifierWithOptions
    When the fault strikes and it is sent
    Then the answer is 503 DID_QUARANTINED
