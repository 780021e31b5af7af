Feature: Get a tile of hashes, or a bundle of entries

  @getLedgerTile
  Scenario: The whole log can be read as tiles
    Given Hana has a DID
    When Vera reads the last tile and the last bundle
    Then the answer is 200
    And the bundle hashes to the tile
    And the answer never changes

  @getLedgerTile
  @404:TILE_NOT_FOUND
  Scenario: A tile beyond the end of the log
    When getLedgerTile is asked for what the ledger does not have
    Then the answer is 404 TILE_NOT_FOUND

  @getLedgerTile
  @404:TILE_NOT_FOUND
  Scenario: Where deactivated DIDs are hidden no bundle shows them
    Given a service that hides the logs of deactivated DIDs
    And Hana has a DID
    When Vera reads the first bundle
    Then the answer is 404 TILE_NOT_FOUND
