"""On the Hub: data sets, metrics and cards to push, results to submit, a leaderboard to show."""
