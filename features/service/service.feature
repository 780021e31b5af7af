Feature: Is it alive, is it ready, which version is it

  Scenario Outline: Anybody may ask
    Given a good request for <operation>
    When it is sent
    Then the answer is 200

    Examples:
      | operation    |
      | getHealth    |
      | getReadiness |
      | getMetrics   |
      | getVersion   |
