/// The table of an ``SQLiteStore``, and the statements that need more than a line.
///
/// The class of a row is the priority of its event, or the priority minus 2 for a dead letter. A row with a batch is handed
/// out. Triggers keep the totals, so that the store never counts rows.
enum SQL {
    static let schema = """
        CREATE TABLE IF NOT EXISTS event (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, class INT, line BLOB, batch INT, reason TEXT, date INT,
            status INT, response TEXT, settled INT,
            size INT AS (length(line)), waits INT AS (class >= 0 OR batch IS NOT NULL), dead INT AS (class < 0));
        CREATE INDEX IF NOT EXISTS event_class ON event (batch, class, seq);
        DELETE FROM event WHERE settled AND class >= 0;
        UPDATE event SET batch = NULL WHERE batch IS NOT NULL;
        CREATE TEMP TABLE totals AS SELECT
            total(waits) AS events, total(waits * size) AS bytes, total(dead) AS dead, total(size) AS size FROM event;
        CREATE TEMP TRIGGER inserted AFTER INSERT ON event BEGIN \(count("new", "+")); END;
        CREATE TEMP TRIGGER deleted AFTER DELETE ON event BEGIN \(count("old", "-")); END;
        CREATE TEMP TRIGGER updated AFTER UPDATE ON event BEGIN \(count("old", "-")); \(count("new", "+")); END;
        """

    /// The highest class first, and the oldest events first.
    static let take = """
        UPDATE event SET batch = ? WHERE seq IN (SELECT seq FROM event WHERE batch IS NULL AND class = (
            SELECT max(class) FROM event WHERE batch IS NULL AND class >= 0) ORDER BY seq LIMIT ?) RETURNING *
        """

    static let reject = """
        UPDATE event SET class = class - 2, reason = ?, date = ?, status = ?, response = ? WHERE seq = (
            SELECT min(seq) FROM event WHERE batch = ? AND class >= 0 AND settled IS NULL AND line = ?)
        """

    /// The size of the rows that may not make room for an event of a priority.
    static let sizeOfOthers = """
        SELECT total(size) FROM event WHERE batch IS NOT NULL OR (batch IS NULL AND class > ?)
        """

    /// Dead letters first, then the lowest priority, and the oldest of them first.
    static let evict = """
        DELETE FROM event WHERE seq = (
            SELECT seq FROM event WHERE batch IS NULL AND class <= ? ORDER BY class, seq LIMIT 1) RETURNING dead, size
        """

    private static func count(_ row: String, _ sign: String) -> String {
        """
        UPDATE totals SET events = events \(sign) \(row).waits, bytes = bytes \(sign) \(row).waits * \(row).size,
            dead = dead \(sign) \(row).dead, size = size \(sign) \(row).size
        """
    }
}
