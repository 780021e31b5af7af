@registerDidUpdate
Feature: Change a DID document, as a registrar does
  The controller signs what the answer to the first request asks for; the second one carries the signature.

  Scenario: What is to be signed
    Given Hana has a DID
    When a registrar begins registerDidUpdate for the DID of Hana
    Then the answer is 200
    And the action is signPayload

  Scenario: What was signed is done
    Given Hana has a DID
    When Hana does registerDidUpdate as a registrar does
    Then the answer is 200
    And the state is finished
    And the document in the state has the service files

  @401:AUTH_FAILED
  Scenario: A job works once
    Given Hana has a DID
    And Hana does registerDidUpdate as a registrar does
    When the second request of the job is sent again
    Then the answer is 401 AUTH_FAILED

  @400:INVALID_REQUEST
  Scenario: The service signs nothing for a controller
    Given Hana has a DID
    When a registrar leaves it to the service to sign
    Then the answer is 400 INVALID_REQUEST
    And the state is failed as INVALID_OPTIONS
