Feature: Requests that wait for an answer

  @createConsentRequest @listConsentRequests @getConsentRequest
  Scenario: An agent with a delegation asks, and the holder approves
    Given Hana has given Aki a delegation
    When Aki asks Hana for her consent
    Then the answer is 201
    And the answer must not be cached
    And the request is waiting
    When Hana reads the requests to her
    Then the answer is 200
    And she finds the request of Aki
    When Hana approves the request
    Then the answer is 200
    And the request is approved
    When Aki reads the request
    Then the answer is 200
    And Aki has the approval
    When Hana reads the requests to her with the status waiting
    Then there are no requests

  @answerConsentRequest
  Scenario: The holder declines
    Given Hana has given Aki a delegation
    When Aki asks Hana for her consent
    And Hana declines the request
    Then the answer is 200
    And the request is declined

  @createConsentRequest @403:FORBIDDEN
  Scenario: An agent that the holder does not know has no place in her list
    Given Hana has a DID
    And Mallory has a DID
    When Mallory asks Hana for her consent
    Then the answer is 403 FORBIDDEN

  @createConsentRequest @429:QUOTA_EXCEEDED
  Scenario: An agent does not fill the list of a holder
    Given Hana has given Aki a delegation
    When Aki asks Hana for her consent 5 times
    And Aki asks Hana for her consent
    Then the answer is 429 QUOTA_EXCEEDED

  @createConsentRequest @400:INVALID_DID
  Scenario: A holder has a DID
    When Aki asks shop.example for a consent
    Then the answer is 400 INVALID_DID

  @getConsentRequest @answerConsentRequest @404:REQUEST_NOT_FOUND
  Scenario Outline: A request is between its agent and its holder
    Given Hana has given Aki a delegation
    And Mallory has a DID
    When Aki asks Hana for her consent
    And Mallory <does> the request
    Then the answer is 404 REQUEST_NOT_FOUND

    Examples:
      | does     |
      | reads    |
      | declines |

  @answerConsentRequest @400:INVALID_REQUEST
  Scenario: A request has one answer
    Given Hana has given Aki a delegation
    When Aki asks Hana for her consent
    And Hana declines the request
    And Hana approves the request
    Then the answer is 400 INVALID_REQUEST

  @answerConsentRequest @403:IBCT_INVALID
  Scenario: The token of an approval is readable
    Given Hana has given Aki a delegation
    When Aki asks Hana for her consent
    And Hana approves the request with a broken token
    Then the answer is 403 IBCT_INVALID

  @createVerifierRequest @answerVerifierRequest
  Scenario: A shop asks, and the proof is handed in by its link
    Given Vic asks for a proof that the holder is 18
    Then the answer is 201
    And the answer must not be cached
    And the request is waiting
    When the proof is made for the request and handed in
    Then the answer is 200
    And the result has the verdict valid
    When Vic reads the request for a proof
    Then the answer is 200
    And the request is answered
    And Vic finds the result
    When anyone reads the request for a proof
    Then the answer is 200
    And the result and the reference are hidden
    When the proof is handed in again
    Then the answer is 400 INVALID_REQUEST

  @answerVerifierRequest
  Scenario: A proof of something else is no answer
    Given Vic asks for a proof that the holder is 21
    When the proof is made for 18 and handed in
    Then the answer is 200
    And the result has the verdict invalid
    When Vic reads the request for a proof
    Then the request is waiting

  @cancelVerifierRequest @getVerifierRequest @answerVerifierRequest @404:REQUEST_NOT_FOUND
  Scenario: A cancelled request leads nowhere
    Given Vic asks for a proof that the holder is 18
    When Vic cancels the request for a proof
    Then the answer is 200
    And there are no requests
    When Vic cancels the request for a proof
    Then the answer is 404 REQUEST_NOT_FOUND
    When anyone reads the request for a proof
    Then the answer is 404 REQUEST_NOT_FOUND
    When a text is handed in as the proof
    Then the answer is 404 REQUEST_NOT_FOUND

  @cancelVerifierRequest @404:REQUEST_NOT_FOUND
  Scenario: Nobody cancels the request of another verifier
    Given Vic asks for a proof that the holder is 18
    And Mallory has a DID
    When Mallory cancels the request for a proof
    Then the answer is 404 REQUEST_NOT_FOUND

  @answerVerifierRequest @401:AUTH_FAILED
  Scenario: A key that was revoked asks for nothing any more
    Given a shop with an API key asks for a proof that the holder is 18
    And the API key of the shop is revoked
    When a text is handed in as the proof
    Then the answer is 401 AUTH_FAILED

  @answerVerifierRequest @403:FORBIDDEN
  Scenario: A key that may not verify any more asks for nothing
    Given a shop with an API key asks for a proof that the holder is 18
    And the API key of the shop may list DIDs only
    When a text is handed in as the proof
    Then the answer is 403 FORBIDDEN

  @listVerifierRequests
  Scenario: A verifier lists its requests
    Given Vic asks for a proof that the holder is 18
    When Vic lists the requests for proofs
    Then the answer is 200
    And Vic finds the request
